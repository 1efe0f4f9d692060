"""A fit that other processes can repeat."""

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform
from votedkernels.kernels import columns

# More centres than one block of 256, so that threads have something to share.
M = 900
KERNELS = {
    "polynomial": Polynomial(),
    "both": [("poly", Polynomial((1, 2, 3))), ("gauss", Gaussian((0.1, 1.0)))],
}


def fit(name, n_jobs=1, compiled=False):
    # Set here because worker processes do not inherit it.
    columns.FUSED_WORK = 0 if compiled else 10**12
    X, y = make_waveform(M, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = VotedKernelClassifier(
        KERNELS[name], complexity_penalty=1e-2, l1_penalty=1e-3, n_jobs=n_jobs
    ).fit(X, y)
    return model.decision_function(X), model.support_, model.n_iter_

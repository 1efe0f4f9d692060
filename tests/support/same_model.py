"""A fit that other processes can repeat."""

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier, _native
from votedkernels.datasets import make_waveform

LOOPS = _native.loops

# More centres than one block of 256, so that threads have something to share.
M = 900
KERNELS = {
    "polynomial": Polynomial(),
    "both": [("poly", Polynomial((1, 2, 3))), ("gauss", Gaussian((0.1, 1.0)))],
}


def fit(name, n_jobs=1, compiled=False):
    # Set here because worker processes do not inherit it.
    _native.loops = LOOPS if compiled else None
    X, y = make_waveform(M, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = VotedKernelClassifier(
        KERNELS[name], complexity_penalty=1e-2, l1_penalty=1e-3, n_jobs=n_jobs
    ).fit(X, y)
    return model.decision_function(X), model.support_, model.n_iter_

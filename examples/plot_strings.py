"""
Strings, and a similarity that is not symmetric
===============================================

A vote needs neither features nor a positive definite kernel. This example classifies words with
typing errors as days of the week or as months. It uses edit distances, and then a similarity that
is not even symmetric.

``EditDistance`` needs rapidfuzz: ``pip install 'votedkernels[strings]'``.
"""

import matplotlib.pyplot as plt
import numpy as np

from votedkernels import EditDistance, Similarity, VotedKernelClassifier

DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip

# %%
# Each word is typed many times by someone who hits a wrong key, omits a letter or swaps two
# letters.


def mistype(word, random):
    """Return the word with up to three typing errors."""
    letters = list(word)
    for _ in range(random.integers(0, 4)):
        place = random.integers(len(letters) - 1)
        error = random.integers(3)
        if error == 0:
            letters[place] = random.choice(list("abcdefghijklmnopqrstuvwxyz"))
        elif error == 1 and len(letters) > 2:
            del letters[place]
        else:
            letters[place : place + 2] = letters[place + 1], letters[place]
    return "".join(letters)


def draw(n, seed):
    """Return n words with errors, and their classes."""
    random = np.random.default_rng(seed)
    kinds = random.choice(["day", "month"], n)
    sources = {"day": DAYS, "month": MONTHS}
    return [mistype(random.choice(sources[kind]), random) for kind in kinds], kinds


words, kinds = draw(300, seed=0)
new_words, new_kinds = draw(1_000, seed=1)
print(words[:8])

# %%
# Edit distances
# --------------

model = VotedKernelClassifier(EditDistance(scales=(1.0, 3.0)), l1_penalty=1e-2).fit(words, kinds)
print(f"test accuracy {model.score(new_words, new_kinds):.3f}, gap {model.dual_gap_:.1e}")

# %%
# A similarity that is not symmetric
# ----------------------------------
#
# The similarity is the share of the centre's two-letter pieces that the word contains. Swapping the
# two words changes the number, but the problem is still convex.


def pieces(word):
    """Return the set of pairs of neighbouring letters."""
    return {word[i : i + 2] for i in range(len(word) - 1)}


def coverage(rows, centers):
    """Return, for each row and centre, the share of the centre's pieces that the row contains."""
    held, wanted = [pieces(row) for row in rows], [pieces(center) for center in centers]
    return np.array([[len(h & w) / max(1, len(w)) for w in wanted] for h in held])


print(coverage(["day"], ["monday"]), coverage(["monday"], ["day"]))
asymmetric = VotedKernelClassifier(Similarity(coverage, bound=1.0), l1_penalty=1e-2)
asymmetric.fit(words, kinds)
print(f"test accuracy {asymmetric.score(new_words, new_kinds):.3f}, gap {asymmetric.dual_gap_:.1e}")

# %%
# The words that vote
# -------------------
#
# The model is a list of words with weights. Positive weights vote for months, negative ones for
# days.

figure, panels = plt.subplots(1, 2, figsize=(10.5, 5.4), layout="constrained")
fits = {"edit distance": model, "coverage, not symmetric": asymmetric}
for ax, (title, fit) in zip(panels, fits.items(), strict=True):
    votes = np.bincount(fit.term_support_indices_, fit.term_weights_[0], len(fit.support_))
    strongest = np.argsort(-np.abs(votes))[:16]
    strongest = strongest[np.argsort(votes[strongest])]
    names = [fit.support_vectors_[number] for number in strongest]
    colours = np.where(votes[strongest] > 0, "#0072B2", "#D55E00")
    ax.barh(range(len(names)), votes[strongest], color=colours)
    ax.set_yticks(range(len(names)), names)
    ax.axvline(0, color="0.15", linewidth=1)
    ax.set(title=f"{title}: {len(fit.support_)} words vote", xlabel="weight: day < 0 < month")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
plt.show()

import pytest

from votedkernels._system.byte_sizes import parse_memory


@pytest.mark.parametrize(
    ("amount", "n_bytes"),
    [
        (1, 1),
        (2**31, 2**31),
        (1.5e9, 1_500_000_000),
        ("1000", 1000),
        ("1B", 1),
        ("2GB", 2_000_000_000),
        ("2GiB", 2 * 2**30),
        ("2 gib", 2 * 2**30),
        ("512MiB", 512 * 2**20),
        ("0.5kB", 500),
        (".5 KiB", 512),
        ("1TB", 10**12),
        ("1TiB", 2**40),
    ],
)
def test_amounts_in_bytes(amount, n_bytes):
    assert parse_memory(amount) == n_bytes


@pytest.mark.parametrize(
    "amount", ["", "2 G B", "two GB", "2GBs", "-2GB", "1e9", None, True, [1], b"2GB"]
)
def test_what_is_no_amount_of_memory(amount):
    with pytest.raises(ValueError, match="memory_limit must be"):
        parse_memory(amount)


@pytest.mark.parametrize("amount", [0, -1, "0GB", float("nan"), float("inf"), 2**62])
def test_amounts_that_are_not_positive_or_not_finite(amount):
    with pytest.raises(ValueError, match="positive amount"):
        parse_memory(amount)

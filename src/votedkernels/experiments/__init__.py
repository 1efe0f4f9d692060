"""The paper's experiments: protocol, algorithms, records, statistics, report."""

"""What the package asks of the operating system: byte sizes, threads, the call stack, files."""

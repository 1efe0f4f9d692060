"""Small linear programs: their form, the methods that solve them, and the order of the methods."""

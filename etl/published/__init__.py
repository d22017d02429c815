"""Published releases of the datasets, read into the tables of our builds.

Each dataset has a module with ``read(path) -> Reading``: the rows of the release in the declared
schemas, edition ``published``, and counts of what could not be read. `job` writes the tables.
"""

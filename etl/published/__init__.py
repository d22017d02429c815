"""Published releases of the datasets, read into the tables that our builds fill.

One module a dataset, each with ``read(path) -> Reading``: the release's rows in the declared
schemas, edition ``published``, and what could not be read. `job` lists the modules and writes.
"""

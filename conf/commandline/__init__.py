"""``adnominal COMMAND …``: every job under one name (`conf.commandline.commands` lists them)."""

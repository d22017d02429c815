"""``adnominal COMMAND …``: one command for every job (listed in `conf.commandline.commands`)."""

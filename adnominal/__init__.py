"""``adnominal COMMAND …``: every job under one name (`adnominal.commands` lists them)."""

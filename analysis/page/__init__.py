"""The report as one self-contained page: `view` says what is shown, `templates` how it looks, and
`figures` draws its charts. Nothing here knows a paper."""

"""The lake as a person looks at it: tables shown, explained, exported and described."""

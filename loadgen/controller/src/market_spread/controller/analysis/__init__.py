"""The one owner of the verdict: passed, failed or void, and why."""

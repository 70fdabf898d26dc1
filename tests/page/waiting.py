"""Waiting for what a page does: `wait_for_function` of playwright fails under a policy unless it is true at once."""

import time

PATIENCE = 120  # seconds; a busy machine is not a failure


def wait_until(page, condition, argument=None):
    """Wait until a JavaScript expression, or a function of `argument`, is true on the page."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(condition, argument):
        assert time.monotonic() < end, f"never true: {condition}"
        page.wait_for_timeout(50)

"""The documented client rule (section 8, rate limit, 3 and 4), as the serial peers keep it."""

import random
import time


class Rule:
    """Waits after a response as long as the document says."""

    def __init__(self):
        self.refused = 0

    def answered(self, status, headers):
        """Waits where it has to be; tells whether the request has to be sent again."""
        if status != 429:
            self.refused = 0
            if float(headers["x-ratelimit-remaining"]) < 1:
                time.sleep(float(headers["x-ratelimit-reset"]))
            return False
        back_off = min(16.0, 0.1 * 2**self.refused) * random.uniform(0.5, 1.0)
        self.refused += 1
        time.sleep(max(float(headers["x-ratelimit-reset"]), back_off))
        return True

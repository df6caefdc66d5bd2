"""Something that goes on beside the test, in a thread, and whose result is asked for later."""
import threading

from waiting import PATIENCE


class Beside:
    def __init__(self, work, *arguments, **options):
        self._result = None
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(work, arguments, options), daemon=True)
        self._thread.start()

    def _run(self, work, arguments, options):
        try:
            self._result = work(*arguments, **options)
        except BaseException as error:  # told to whoever asks
            self._error = error

    def is_done(self):
        return not self._thread.is_alive()

    def result(self, seconds=PATIENCE):
        self._thread.join(seconds)
        assert self.is_done(), f"no result within {seconds:g} s"
        if self._error is not None:
            raise self._error
        return self._result

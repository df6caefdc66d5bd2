"""A unix socket in front of an engine's, that can be told to ill-treat whoever comes by it."""
import contextlib
import os
import socket
import threading
import time

PIECE = 65536

METHODS = (b"GET ", b"POST ", b"PUT ", b"DELETE ", b"HEAD ")

# To whatever is asked.
ANSWERS = {
    "garbage": b"\x00\xff\x13 this is no HTTP at all \r\n\r\n" * 8,
    "half": b"HTTP/1.1 200 OK\r\nContent-Type: appl",
    "short": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"Id\": \"",
    "error": b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 28\r\n"
             b"Connection: close\r\n\r\n{\"message\": \"out of order\"}\n\n",
}


class EngineGate:
    """Passes bytes on until `behave` says otherwise; that holds for requests to come. Streams that are attached go on,
    unless all hangs; `cut` breaks every connection there is.

    Ways to behave: `open`; `refuse` (the socket is gone); `hang` (accepts, and says nothing); `garbage` (no HTTP);
    `half` (an answer that breaks off in the middle of its head); `short` (less body than Content-Length says); `error`
    (500 to everything); `slow` (each piece `delay` seconds late); `keep` (says nothing to whoever wants something removed).
    """

    def __init__(self, path, engine):
        self.path = str(path)
        self.engine = engine
        self.delay = 0.5
        self._way = "open"
        self._lock = threading.Lock()
        self._sockets = set()
        self._hung = set()
        self._listener = None
        self._listen()

    @property
    def host(self):
        return "unix://" + self.path

    def behave(self, way):
        with self._lock:
            before, self._way = self._way, way
            hung, self._hung = self._hung, set()
        for each in hung:
            _hang_up(each)
            each.close()
        if way == "refuse":
            self._stop_listening()
        elif before == "refuse":
            self._listen()

    def cut(self):
        """Breaks every connection there is."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            _hang_up(each)

    def close(self):
        self.behave("refuse")
        self.cut()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _listen(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(128)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _stop_listening(self):
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        way = self._way
        if way in ANSWERS:
            self._answer(client, ANSWERS[way])
            return
        if way == "hang":
            with self._lock:
                self._hung.add(client)
            return
        engine = socket.socket(socket.AF_UNIX)
        try:
            engine.connect(self.engine)
        except OSError:
            client.close()
            engine.close()
            return
        with self._lock:
            self._sockets |= {client, engine}
        back = threading.Thread(target=self._copy, args=(engine, client), daemon=True)
        back.start()
        self._copy(client, engine)
        back.join()
        with self._lock:
            self._sockets -= {client, engine}
        client.close()
        engine.close()

    def _answer(self, client, answer):
        with contextlib.suppress(OSError):
            client.recv(PIECE)
            client.sendall(answer)
        _hang_up(client)
        client.close()

    def _copy(self, source, sink):
        try:
            while data := source.recv(PIECE):
                if (answer := ANSWERS.get(self._way)) and data.startswith(METHODS):
                    source.sendall(answer)  # on a connection that was there before
                    break
                if self._way == "slow":
                    time.sleep(self.delay)
                while self._way == "hang" or (self._way == "keep" and data.startswith(b"DELETE ")):
                    time.sleep(0.02)
                sink.sendall(data)
        except OSError:
            pass
        for each in (sink, source) if self._way in ANSWERS else (sink,):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_WR)


def _hang_up(sock):
    """Wakes whoever reads it; who opened it closes it."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)

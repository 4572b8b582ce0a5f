"""A receiver that holds thousands of calls at once and answers each after a while, in a process of its own.

Usage: slow_receiver.py DELAY. Its first line is its port; each line read from it afterwards is answered
with "SEEN OPEN PEAK": calls so far, those that are open, and how many were open at once at most.
"""
import asyncio
import sys


class Counts:
    seen = 0
    open = 0
    peak = 0


async def answer(reader, writer, delay):
    try:
        while True:
            head = await reader.readuntil(b'\r\n\r\n')
            length = next((int(line.split(b':')[1]) for line in head.lower().split(b'\r\n')
                           if line.startswith(b'content-length:')), 0)
            await reader.readexactly(length)
            Counts.seen += 1
            Counts.open += 1
            Counts.peak = max(Counts.peak, Counts.open)
            await asyncio.sleep(delay)
            Counts.open -= 1
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main(delay):
    server = await asyncio.start_server(lambda r, w: answer(r, w, delay), '127.0.0.1', 0, backlog=4096,
                                        limit=1 << 16)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(Counts.seen, Counts.open, Counts.peak, flush=True)

asyncio.run(main(float(sys.argv[1])))

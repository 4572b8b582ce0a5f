#!/usr/bin/env python3
"""A receiver for trying out webhooks: prints each Run that arrives and answers 200.

Usage: receiver.py [PORT]     default 9000; listens on 127.0.0.1 alone
"""
import argparse
import http.server
import json
import sys
import threading


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        try:
            prompt = json.loads(body)['prompt']
        except (ValueError, KeyError, TypeError):
            prompt = body.decode(errors='replace')
        print(f'received Run {self.headers.get("Idempotency-Key", "?")}: {prompt}', flush=True)
        answer = b'thank you\n'
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain')
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def start_receiver(port):
    """Listens in a thread of its own; port 0 takes a free one. Returns the port."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', port), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    parser = argparse.ArgumentParser(description='Prints each Run that arrives and answers 200.')
    parser.add_argument('port', metavar='PORT', type=int, nargs='?', default=9000,
                        help='on 127.0.0.1 (9000; 0: a free one)')
    wanted = parser.parse_args().port
    try:
        port = start_receiver(wanted)
    except (OSError, OverflowError) as fault:
        sys.exit(f'receiver.py: cannot listen on 127.0.0.1 port {wanted}: {fault}; choose another: '
                 'receiver.py PORT')
    print(f'listening on http://127.0.0.1:{port}', flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass


if __name__ == '__main__':
    main()

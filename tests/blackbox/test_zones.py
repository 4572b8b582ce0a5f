"""A tz database that loses a zone, or holds a damaged one, under a host that used it."""
import pathlib
import shutil

import belfry

SYSTEM = pathlib.Path('/usr/share/zoneinfo')


def make_zones(folder):
    (folder / 'Europe').mkdir(parents=True)
    for name in ('UTC', 'Europe/Berlin', 'tzdata.zi'):
        shutil.copy(SYSTEM / name, folder / name)


def test_a_zone_that_is_gone_stops_its_own_deployment_alone_and_lets_it_be_disabled(tmp_path, receiver):
    zones = tmp_path / 'zones'
    make_zones(zones)
    server = belfry.Server(environment={'TZDIR': str(zones)})
    try:
        server.start()
        lost = server.create('lost', '* * * * * *', receiver.url + '/lost', timezone='Europe/Berlin')['id']
        other = server.create('other', '* * * * * *', receiver.url + '/other')['id']
        receiver.wait_calls(1, path='/lost')
        server.kill()
        (zones / 'Europe' / 'Berlin').write_bytes(b'no zone')
        calls = len(receiver.seen(path='/other'))
        server.start()
        receiver.wait_calls(calls + 2, path='/other')  # one bad zone never stops the others
        assert 'cannot be evaluated' in server.show(lost)['phase_reason']
        disabled = server.disable(lost)
        assert server.show(lost)['enabled'] is False, disabled
        (zones / 'Europe' / 'Berlin').unlink()
        server.kill()
        server.start()
        assert server.show(lost)['enabled'] is False
        assert server.show(other)['phase_reason'] is None
    finally:
        server.close()

"""A tz database that changes, loses a zone, or holds a damaged one, under a host that uses it."""
import json
import pathlib
import shutil
import signal
import subprocess

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


def put(folder, name, data):
    """In place of what is there, as installers do it."""
    fresh = folder / 'fresh'
    fresh.write_bytes(data)
    fresh.rename(folder / name)


def preview(server):
    answer = server.post('/v1/preview', {'rule': {'cron': '0 12 * * *'}, 'timezone': 'Europe/Berlin', 'n': 1})
    return answer['tz_version'], answer['due'][0]['at'][11:]


def doctor(server):
    result = subprocess.run([belfry.BINARY, 'doctor', '--json'], capture_output=True, text=True, check=False,
                            env=belfry.clean_environment(BELFRY_URL=server.url,
                                                         TZDIR=server.settings['TZDIR']))
    return next(i for i in json.loads(result.stdout)['items'] if i['check'] == 'zones')


def test_a_newer_database_is_taken_over_without_a_restart(tmp_path):
    """A look is made every 30 s, and at once on SIGHUP."""
    zones = tmp_path / 'zones'
    make_zones(zones)
    put(zones, 'tzdata.zi', b'# version 2031a\n')
    put(zones, 'Europe/Berlin', (SYSTEM / 'Asia/Tokyo').read_bytes())  # the same the whole year
    server = belfry.Server(environment={'TZDIR': str(zones)})
    try:
        server.start()
        assert preview(server) == ('2031a', '03:00:00Z')
        put(zones, 'Europe/Berlin', b'TZif')
        put(zones, 'tzdata.zi', b'# version 2031b\n')
        server.process.send_signal(signal.SIGHUP)
        belfry.wait_for(lambda: 'event=tz_database_unreadable' in server.log_text(), 'a look at the database')
        assert preview(server) == ('2031a', '03:00:00Z')
        put(zones, 'Europe/Berlin', (SYSTEM / 'Africa/Lagos').read_bytes())
        server.process.send_signal(signal.SIGHUP)
        belfry.wait_for(lambda: preview(server) == ('2031b', '11:00:00Z'), 'the newer database')
        assert 'event=tz_database_changed old=2031a new=2031b' in server.log_text()
        assert any('tz_version="2031b"' in name for name in server.metrics())
        found = doctor(server)
        assert found['result'] == 'ok' and '2031b' in json.dumps(found), found
    finally:
        server.close()

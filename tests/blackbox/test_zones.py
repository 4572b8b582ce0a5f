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


def take_over(zones, zone, version):
    put(zones, 'Europe/Berlin', (SYSTEM / zone).read_bytes())
    put(zones, 'tzdata.zi', f'# version {version}\n'.encode())


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
    take_over(zones, 'Asia/Tokyo', '2031a')  # the same the whole year
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


def test_due_times_that_lie_ahead_move_with_the_database(tmp_path, receiver):
    zones = tmp_path / 'zones'
    make_zones(zones)
    take_over(zones, 'Asia/Tokyo', '2031a')
    server = belfry.Server(environment={'TZDIR': str(zones)}, zones_check='PT0.1S')

    def noon():
        due = server.show(id_)['next_due']
        return due[0][11:] if due else None

    try:
        server.start()
        id_ = server.create('noon', '0 12 * * *', receiver.url, timezone='Europe/Berlin')['id']
        second = server.create('second', '* * * * * *', receiver.url + '/second', timezone='Europe/Berlin')['id']
        belfry.wait_for(lambda: noon() == '03:00:00Z', 'the first due time')
        first = receiver.wait_calls(1, path='/second')[0]
        assert server.run(first.run)['tz_version'] == '2031a'
        take_over(zones, 'Africa/Lagos', '2031b')
        belfry.wait_for(lambda: noon() == '11:00:00Z', 'the due time by the newer database')
        belfry.wait_for(lambda: preview(server) == ('2031b', '11:00:00Z'), 'the preview by it')

        def newer():
            return [r for r in server.runs(second, limit=5) if r['tz_version'] == '2031b']
        belfry.wait_for(newer, 'a Run by the newer database')
        (zones / 'Europe' / 'Berlin').unlink()  # its rules keep what they were made of
        put(zones, 'tzdata.zi', b'# version 2031c\n')

        def refused():
            body = {'rule': {'cron': '0 12 * * *'}, 'timezone': 'Europe/Berlin'}
            answer = server.api('POST', '/v1/preview', body)
            return answer.status == 400 and answer.json['pointer'] == '/timezone'
        belfry.wait_for(refused, 'the refusal of a zone that is gone')
        belfry.wait_for(lambda: server.log_text().count('new=2031c') == 2, 'both looks at the database')
        by_due = receiver.runs_by_due(path='/second')
        assert all(len(runs) == 1 for runs in by_due.values())
        take_over(zones, 'Asia/Tokyo', '2031d')
        belfry.wait_for(lambda: noon() == '03:00:00Z', 'the zone that is back')
    finally:
        server.close()

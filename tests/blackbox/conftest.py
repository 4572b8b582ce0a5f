import pytest

import belfry
import storm


def pytest_collection_modifyitems(items):
    """What reads the refusals of all tests comes last; before it the storms, which rage meanwhile."""
    items.sort(key=lambda item: (item.name.startswith("test_t066"), item.module.__name__ == "test_storm"))


@pytest.fixture
def receiver():
    receiver = belfry.Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def make_server():
    """make_server(binary=..., arguments=..., SETTING=...) starts a host that ends with the test."""
    made = []

    def make(start=True, **options):
        server = belfry.Server(**options)
        made.append(server)
        return server.start() if start else server
    yield make
    for server in made:
        server.close()


@pytest.fixture
def server(make_server):
    return make_server()


@pytest.fixture(scope='module')
def shared_server():
    """One host for the tests of a file that do not kill or fill it."""
    server = belfry.Server().start()
    yield server
    server.close()


@pytest.fixture(scope='module')
def shared_receiver():
    receiver = belfry.Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope='session', autouse=True)
def storms(request):
    """The two long tests of test_storm.py, begun at once where they are asked for, judged at their place."""
    wanted = any('storms' in item.fixturenames and item.module.__name__ == 'test_storm'
                 for item in request.session.items)
    yield {grace: storm.Storm(grace, seed).start()
           for grace, seed in ((('PT0S', 20), (None, 21)) if wanted else ())}

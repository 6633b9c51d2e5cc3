from tests.fakecuda.conftest import fake_cuda, fake_driver, pytest_configure

__all__ = ["fake_cuda", "fake_driver", "pytest_configure"]

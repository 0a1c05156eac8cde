"""The certificate: every way of running a model gives the same answers, and a proof of it goes with the model."""

from regard.certificate.certify import HEAD, STATED, Certificate, Line, certify
from regard.certificate.of_run import certify_run, save_certificate

__all__ = ["HEAD", "STATED", "Certificate", "Line", "certify", "certify_run", "save_certificate"]

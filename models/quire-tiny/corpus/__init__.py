# SPDX-License-Identifier: Apache-2.0
"""Composes the training conversations of quire-tiny."""

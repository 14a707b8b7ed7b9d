// SPDX-License-Identifier: GPL-3.0-or-later
// Precompiled header of the workbench's tests; see core/precompiled.h.
#pragma once

#include <QtTest>

#include "tests/precompiled.h"
#include "ui/precompiled.h"

// SPDX-License-Identifier: GPL-3.0-or-later
// Precompiled header of the workbench; see core/precompiled.h.
#pragma once

#include <QtWidgets>

#include "core/precompiled.h"

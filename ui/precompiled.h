// SPDX-License-Identifier: GPL-3.0-or-later
// Precompiled header of the workbench; see core/precompiled.h.
#pragma once

#include <QtWidgets>
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

// SPDX-License-Identifier: GPL-3.0-or-later
// Precompiled header of core, backends and app: headers of libraries that most sources include.
// Sources still include what they use; the dev preset builds without it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

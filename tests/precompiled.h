// SPDX-License-Identifier: GPL-3.0-or-later
// Precompiled header of tests; see core/precompiled.h.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/precompiled.h"
#include "tests/problem_matchers.h"  // all tests print problems in the same way

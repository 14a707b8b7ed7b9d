// SPDX-License-Identifier: GPL-3.0-or-later
// A buffer that holds but a piece of what another name stands for is called by that name, '@', and which piece it is: "act.s3@1", "moment1@near".
#pragma once

#include <string_view>

namespace trainyard::plan {

inline constexpr char kPiece = '@';

inline std::string_view whole_name(std::string_view name) { return name.substr(0, name.find(kPiece)); }

}  // namespace trainyard::plan

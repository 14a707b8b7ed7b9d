// SPDX-License-Identifier: GPL-3.0-or-later
// JSON for headers that only pass it on or keep it: nlohmann/json.hpp takes seconds to compile.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace trainyard::base {

using Json = nlohmann::ordered_json;  // keeps the order of field tables

// Immutable JSON value; copies share it. A complete type without nlohmann/json.hpp, so that a
// header can have members of it.
class SharedJson {
 public:
  SharedJson();  // null
  explicit SharedJson(Json json);
  const Json& operator*() const { return *json_; }

 private:
  std::shared_ptr<const Json> json_;
};

}  // namespace trainyard::base

// SPDX-License-Identifier: GPL-3.0-or-later
// JSON for headers that only declare or pass on values. They need not include nlohmann/json.hpp,
// which takes seconds to compile.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace trainyard::base {

using Json = nlohmann::ordered_json;  // keeps keys in the order of field tables

// Immutable JSON value that copies share. It is a complete type without nlohmann/json.hpp, so
// headers can have members of this type.
class SharedJson {
 public:
  SharedJson();  // holds null
  explicit SharedJson(Json json);
  const Json& operator*() const { return *json_; }

 private:
  std::shared_ptr<const Json> json_;
};

}  // namespace trainyard::base

// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/versions.h"

#include <array>
#include <string_view>

#include "core/base/fields.h"
#include "core/base/json.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {
namespace {

using base::Json;

// Layer keys that were renamed.
struct RenamedKey {
  std::string_view before, now;
};
constexpr std::array kRenamedLayerKeys{RenamedKey{"synchronised", "synchronized"}};

// If an object has both the old and the new name of a key, the old name remains and is refused as
// unknown.
void rename_layer_keys(Json& layer) {
  for (const auto& [before, now] : kRenamedLayerKeys) {
    if (!layer.is_object() || !layer.contains(before) || layer.contains(now)) continue;
    Json renamed = Json::object();
    for (auto& [key, value] : layer.items())
      renamed[key == before ? std::string(now) : key] = std::move(value);
    layer = std::move(renamed);
  }
}

}  // namespace

void rename_old_keys(Json& document) {
  const auto layers = base::value_at(document, "model.layers");
  if (!layers || !layers->is_array()) return;
  for (Json& layer : document["model"]["layers"]) rename_layer_keys(layer);
}

bool has_version(const Json& document, int version) {
  if (!document.is_object()) return false;
  const auto at = document.find("version");
  return at != document.end() && at->is_number_integer() && *at == version;
}

bool lacks_version(const Json& document) {
  return document.is_object() && !document.contains("version");
}

bool is_newer(const Json& document) {
  if (!document.is_object()) return false;
  const auto version = document.find("version");
  if (version == document.end() || !version->is_number_integer()) return false;
  return version->is_number_unsigned() ? version->get<std::uint64_t>() > kVersion
                                       : version->get<std::int64_t>() > kVersion;
}

std::string present_path(std::string path) {
  if (!path.starts_with("model.layers[")) return path;
  const auto key = path.rfind('.') + 1;
  for (const auto& [before, now] : kRenamedLayerKeys)
    if (path.substr(key) == before) path.replace(key, std::string::npos, now);
  return path;
}

}  // namespace trainyard::experiment

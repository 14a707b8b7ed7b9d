// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/clipboard.h"

#include "core/base/fields.h"
#include "core/base/json.h"

namespace trainyard::ui {
namespace {

constexpr int kVersion = 1;
constexpr qsizetype kMaxBytes = 16'000'000;

// Content of the clipboard: copied devices and a part of a drawing, with described fields for JSON.
struct Clip {
  std::int64_t version = kVersion;
  topology::Topology topology;
  std::vector<topology::Device> devices;
};

}  // namespace
}  // namespace trainyard::ui

template <>
struct trainyard::base::Fields<trainyard::ui::Clip> {
  using C = trainyard::ui::Clip;
  static constexpr std::string_view title = "Clip";
  static auto table() {
    return std::tuple{field("version", &C::version, "", {1, 1}, ""),
                      field("topology", &C::topology, "", {}, ""),
                      field("devices", &C::devices, "", {0, 4096}, "")};
  }
};

namespace trainyard::ui {

std::unique_ptr<QMimeData> to_mime(const Fragment& fragment) {
  const std::string text =
      base::to_text(base::write_document(Clip{kVersion, fragment.topology, fragment.devices}), 2);
  auto data = std::make_unique<QMimeData>();
  data->setData(kTopologyMime, QByteArray::fromStdString(text));
  data->setText(QString::fromStdString(text));
  return data;
}

std::optional<Fragment> from_mime(const QMimeData* data) {
  if (!data || !data->hasFormat(kTopologyMime)) return std::nullopt;
  const QByteArray bytes = data->data(kTopologyMime);
  if (bytes.size() > kMaxBytes) return std::nullopt;
  const auto json = base::parse_json(
      std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())), "clipboard");
  if (!json) return std::nullopt;
  Clip clip;
  base::Problems problems;
  base::read_document(*json, clip, "", problems);
  Fragment fragment{std::move(clip.topology), std::move(clip.devices)};
  if (!problems.empty() || fragment.empty()) return std::nullopt;
  return fragment;
}

}  // namespace trainyard::ui

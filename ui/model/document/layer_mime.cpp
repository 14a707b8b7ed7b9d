// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/layer_mime.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>

#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

constexpr const char* kLayersMime = "application/x-trainyard-layers";
constexpr qsizetype kMaxMimeBytes = 1'000'000;

QString layers_text(const char* source, int n = -1) {
  return QCoreApplication::translate("layers", source, nullptr, n);
}

}  // namespace

std::unique_ptr<QMimeData> to_mime(const QStringList& layers) {
  auto data = std::make_unique<QMimeData>();
  data->setData(kLayersMime, layers.join('\n').toUtf8());
  return data;
}

QStringList layers_of_mime(const QMimeData* data) {
  static const QRegularExpression name(R"(^\d{1,9}(\.\d{1,9})?$)");
  if (!data || !data->hasFormat(kLayersMime)) return {};
  const QByteArray bytes = data->data(kLayersMime);
  if (bytes.size() > kMaxMimeBytes) return {};
  const QStringList layers = QString::fromUtf8(bytes).split('\n');
  const bool known = std::ranges::all_of(
      layers, [](const QString& layer) { return name.match(layer).hasMatch(); });
  return known ? layers : QStringList();
}

QString layer_list_text(const QStringList& layers) {
  if (layers.size() == 1) return layers_text("layer %1").arg(layers.first());
  if (layers.size() == 2) return layers_text("layers %1 and %2").arg(layers.first(), layers.last());
  return layers_text("%n layer(s)", plural(layers.size()));
}

}  // namespace trainyard::ui

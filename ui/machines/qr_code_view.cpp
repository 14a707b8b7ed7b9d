// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/machines/qr_code_view.h"

#include <QPainter>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kModulePixels = 4, kMarginModules = 4;

}  // namespace

QrCodeView::QrCodeView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  setAccessibleName(tr("QR code of the invitation"));
  connect(&Theme::instance(), &Theme::changed, this, &QrCodeView::fit);
}

void QrCodeView::set_modules(const std::vector<std::string>& rows) {
  const bool is_square =
      std::ranges::all_of(rows, [&](const std::string& row) { return row.size() == rows.size(); });
  rows_ = is_square ? rows : std::vector<std::string>();
  setVisible(!rows_.empty());
  fit();
}

void QrCodeView::fit() {
  updateGeometry();
  update();
}

int QrCodeView::side_in_modules() const {
  return rows_.empty() ? 0 : static_cast<int>(rows_.size()) + 2 * kMarginModules;
}

QSize QrCodeView::sizeHint() const {
  const int side = side_in_modules() * Theme::instance().pixels(kModulePixels);
  return {side, side};
}

// Modules have a whole number of pixels, so that all are equal.
void QrCodeView::paintEvent(QPaintEvent*) {
  if (rows_.empty()) return;
  QPainter painter(this);
  painter.fillRect(rect(), Qt::white);
  const int module = std::max(1, std::min(width(), height()) / std::max(1, side_in_modules()));
  const int code = module * static_cast<int>(rows_.size());
  const QPoint corner((width() - code) / 2, (height() - code) / 2);
  for (int y = 0; y < static_cast<int>(rows_.size()); ++y)
    for (int x = 0; x < static_cast<int>(rows_.size()); ++x)
      if (rows_[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] == '1')
        painter.fillRect(corner.x() + x * module, corner.y() + y * module, module, module,
                         Qt::black);
}

}  // namespace trainyard::ui

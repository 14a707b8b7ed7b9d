// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_legend.h"

#include <QPainter>
#include <QResizeEvent>
#include <algorithm>

#include "ui/charts/plot_painter.h"
#include "ui/theme/flow_layout.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

QPixmap line_sample(const SeriesStyle& style, QSize size, double ratio) {
  QPixmap picture(size * ratio);
  picture.setDevicePixelRatio(ratio);
  picture.fill(Qt::transparent);
  QPainter painter(&picture);
  painter.setRenderHint(QPainter::Antialiasing);
  paint_sample(painter, style, QRectF(QPointF(), QSizeF(size)));
  return picture;
}

PlotLegend::PlotLegend(QWidget* parent)
    : QScrollArea(parent), page_(new QWidget(this)), layout_(new FlowLayout(page_, 2)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Legend"));
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::NoFocus);  // the legend's buttons take the focus instead
  setWidgetResizable(true);
  setWidget(page_);
  page_->setAutoFillBackground(false);  // the card's background shows through
  viewport()->setAutoFillBackground(false);
}

QToolButton* PlotLegend::button(const QString& id) const {
  const auto at = std::ranges::find(buttons_, id, &std::pair<QString, QToolButton*>::first);
  return at == buttons_.end() ? nullptr : at->second;
}

QToolButton* PlotLegend::make_button(const QString& id) {
  auto* button = new QToolButton(page_);
  button->setCheckable(true);
  button->setAutoRaise(true);
  button->setFocusPolicy(Qt::TabFocus);
  set_sheet(button, [](const Colors& c) {
    return QString(
               "QToolButton { border: 1px solid transparent; padding: 1px 3px; background: none; "
               "color: %1; }"
               "QToolButton:hover, QToolButton:focus { border-color: %2; border-radius: 3px; }")
        .arg(c.text.name(), c.accent.name());
  });
  button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  button->setToolTip(tr("Show or hide this line"));
  connect(button, &QToolButton::toggled, this, [this, id](bool on) { emit toggled(id, on); });
  layout_->addWidget(button);
  buttons_.emplace_back(id, button);
  return button;
}

void PlotLegend::show_series(const std::vector<std::unique_ptr<PlotSeries>>& series) {
  std::erase_if(buttons_, [&](const auto& entry) {
    const bool gone =
        std::ranges::none_of(series, [&](const auto& s) { return s->id == entry.first; });
    if (gone) {
      layout_->removeWidget(entry.second);
      entry.second->deleteLater();
    }
    return gone;
  });
  const int line = fontMetrics().height();
  for (const auto& one : series) {
    QToolButton* entry = button(one->id);
    if (!entry) entry = make_button(one->id);
    const QSignalBlocker quiet(entry);
    entry->setIconSize({line * 3 / 2, line});
    entry->setIcon(line_sample(one->style, entry->iconSize(), devicePixelRatioF()));
    entry->setText(" " + one->style.label);
    entry->setChecked(one->visible);
    QFont font = this->font();  // a button with a style sheet does not inherit the font
    font.setStrikeOut(!one->visible);
    entry->setFont(font);
    entry->show();
  }
  set_order(series);
  // A single series is listed too if it has a label, because the chart's title may not contain the
  // label.
  setVisible(series.size() > 1 || (series.size() == 1 && !series.front()->style.label.isEmpty()));
  updateGeometry();
}

void PlotLegend::set_order(const std::vector<std::unique_ptr<PlotSeries>>& series) {
  for (std::size_t to = 0; to < series.size(); ++to) {
    const auto at =
        std::ranges::find(buttons_, series[to]->id, &std::pair<QString, QToolButton*>::first);
    layout_->move(static_cast<int>(at - buttons_.begin()), static_cast<int>(to));
    std::rotate(buttons_.begin() + static_cast<std::ptrdiff_t>(to), at, at + 1);
  }
}

void PlotLegend::set_max_height(int height) {
  if (height == most_) return;
  most_ = height;
  updateGeometry();
}

// Returns the height of the legend without scrolling. It depends on the width, because rows of
// buttons wrap.
int PlotLegend::full_height() const { return layout_->heightForWidth(std::max(width(), 100)); }
QSize PlotLegend::sizeHint() const {
  return {100, std::min(full_height(), std::max(most_, layout_->minimumSize().height()))};
}

void PlotLegend::render_full(QPainter& painter) {
  const QSize shown = page_->size();
  page_->resize(width(), full_height());
  page_->render(&painter, {}, {}, QWidget::DrawChildren);
  page_->resize(shown);
}

void PlotLegend::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) updateGeometry();
}

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
// Header row of a plot and its menu.
#include <QHBoxLayout>
#include <QMenu>
#include <QMessageBox>
#include <QToolButton>

#include "ui/charts/plot_export.h"
#include "ui/charts/plot_view.h"
#include "ui/theme/common_dialogs.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

QToolButton* small_button(QWidget* parent, const QString& text, const QString& help) {
  auto* button = new QToolButton(parent);
  button->setText(text);
  button->setToolTip(help);
  button->setAccessibleName(help);
  button->setAutoRaise(true);
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

}  // namespace

void PlotView::build_header() {
  auto* row = new QHBoxLayout;
  row->setContentsMargins(0, 0, 0, 0);
  heading_ = new TintedLabel(TextColor::text, this, 1, true);
  heading_->set_elided();
  heading_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  log_button_ = small_button(this, tr("log"), tr("Logarithmic scale"));
  log_button_->setCheckable(true);
  connect(log_button_, &QToolButton::toggled, this, &PlotView::set_log);
  menu_button_ = small_button(this, QStringLiteral("⋮"), tr("Chart menu"));
  connect(menu_button_, &QToolButton::clicked, this,
          [this] { menu_->popup(menu_button_->mapToGlobal(menu_button_->rect().bottomLeft())); });
  row->addWidget(heading_, 1);
  row->addWidget(log_button_);
  row->addWidget(menu_button_);
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
  build_menu();
}

void PlotView::build_menu() {
  menu_ = new QMenu(this);
  menu_->addAction(tr("Zoom to all data (Home)"), this, &PlotView::home);
  full_range_action_ = menu_->addAction(tr("Extend axis to the largest value"));
  full_range_action_->setCheckable(true);
  connect(full_range_action_, &QAction::toggled, this, &PlotView::set_full_range);
  connect(menu_, &QMenu::aboutToShow, this,
          [this] { full_range_action_->setVisible(model_.can_clip()); });
  menu_->addSeparator();
  for (const QString& kind : {QStringLiteral("PNG"), QStringLiteral("SVG"), QStringLiteral("CSV")})
    menu_->addAction(
        kind == "CSV" ? tr("Export all points as CSV…") : tr("Export as %1…").arg(kind), this,
        [this, kind] { ask_and_save(kind); });
}

void PlotView::enable_point_choice(const QString& text) {
  choose_ = new QAction(text, menu_);
  choose_->setShortcut(Qt::Key_Return);
  // The menu shows the shortcut, but the chart handles the key.
  choose_->setShortcutContext(Qt::WidgetShortcut);
  menu_->insertAction(menu_->actions().value(0), choose_);
  menu_->insertSeparator(menu_->actions().value(1));
  connect(choose_, &QAction::triggered, this, [this] { choose_point(menu_at_); });
  connect(menu_, &QMenu::aboutToShow, this, [this] { choose_->setEnabled(menu_at_.has_value()); });
  connect(menu_, &QMenu::aboutToHide, this, [this] {
    QMetaObject::invokeMethod(
        this, [this] { menu_at_.reset(); }, Qt::QueuedConnection);
  });
}

void PlotView::choose_point(std::optional<double> x) {
  const auto found = x && choose_ ? model_.nearest(map_.axis, *x) : std::nullopt;
  if (found) emit point_chosen(found->id, found->point);
}

// Opens the menu at the pointer. The position of the crosshair is stored, because the crosshair
// disappears while the menu is open.
void PlotView::show_menu(const QPoint& global) {
  menu_at_ = group_->x();
  menu_->popup(global);
}

void PlotView::ask_and_save(const QString& kind) {
  const QString suffix = kind.toLower();
  const QString suggested = title_.toLower().replace(' ', '-') + "." + suffix;
  const QString file =
      ask_where_to_save(this, tr("Export chart"), suggested, kind + " (*." + suffix + ")", suffix);
  if (file.isEmpty()) return;
  const auto saved = save_plot(*this, file);
  if (!saved)
    QMessageBox::warning(this, tr("Export chart"),
                         QString::fromStdString(base::to_string(saved.error())));
}

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/algorithm_picker.h"

#include <QCheckBox>
#include <QEvent>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/inspector/field_text.h"
#include "ui/model/text/count_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kDetailLines = 5;

}  // namespace

AlgorithmPicker::AlgorithmPicker(QWidget* parent)
    : QWidget(parent),
      caption_(paragraph(TextColor::dim, this)),
      detail_(paragraph(TextColor::dim, this)),
      table_(new AlgorithmTable(this)),
      keep_(new QCheckBox(tr("Show chosen algorithm on canvas"), this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kGrid, 0, 0);
  column->setSpacing(kGrid / 2);
  for (QWidget* part : {static_cast<QWidget*>(caption_), static_cast<QWidget*>(table_),
                        static_cast<QWidget*>(detail_), static_cast<QWidget*>(keep_)})
    column->addWidget(part);
  detail_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  keep_->setToolTip(
      tr("Show senders and receivers even while the pointer is on no row. While a live run "
         "has measured bytes, those are shown instead."));
  connect(table_, &AlgorithmTable::picked, this, &AlgorithmPicker::picked);
  connect(table_, &AlgorithmTable::pointed_changed, this, &AlgorithmPicker::point);
  connect(keep_, &QCheckBox::toggled, this, &AlgorithmPicker::point);
  reserve_lines();
  refresh();
}

// Reserves lines for the details, so that nothing moves while the user compares rows.
void AlgorithmPicker::reserve_lines() {
  detail_->setMinimumHeight(kDetailLines * fontMetrics().lineSpacing());
}

void AlgorithmPicker::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) reserve_lines();
}

void AlgorithmPicker::set_selected(collective::Algorithm asked) {
  if (asked == asked_) return;
  asked_ = asked;
  refresh();
}

void AlgorithmPicker::set_used(bool used) {
  setVisible(used);
  point();
}

void AlgorithmPicker::show_offers(AlgorithmOffersPtr known) {
  known_ = std::move(known);
  refresh();
}

QString AlgorithmPicker::reason() const {
  const bool known =
      known_ && !known_->offers.empty() && asked_ == collective::Algorithm::automatic;
  return known ? QString::fromStdString(known_->automatic.reason) : QString();
}

QString AlgorithmPicker::caption_of() const {
  if (!known_) return tr("Place devices to compare all-reduce algorithms here.");
  if (known_->problem)
    return tr("Fix this problem to compare the algorithms: %1").arg(problem_line(*known_->problem));
  if (known_->offers.empty() && known_->ranks == 0)
    return tr(
        "This strategy all-reduces neither gradients nor activations, so there is no algorithm to "
        "compare.");
  if (known_->offers.empty())
    return tr("A single rank needs no all-reduce. Place another device to compare the algorithms.");
  const QString what =
      known_->inside_layers
          ? tr("Largest all-reduce inside layers for one micro-batch, %1, over %2:")
      : known_->gathers ? tr("All-gather of the largest bucket, %1, over %2:")
                        : tr("All-reduce of the largest bucket, %1, over %2:");
  return what.arg(size_text(known_->bucket_bytes),
                  tr("%n rank(s)", nullptr, plural(known_->ranks)));
}

void AlgorithmPicker::refresh() {
  const bool compares = known_ && !known_->offers.empty();
  caption_->setText(caption_of());
  for (QWidget* part : {static_cast<QWidget*>(table_), static_cast<QWidget*>(detail_),
                        static_cast<QWidget*>(keep_)})
    part->setVisible(compares);
  table_->set_rows(compares ? algorithm_rows(*known_, asked_) : std::vector<AlgorithmRow>());
  emit reason_changed();
}

// Shows the details of the row under the pointer, and requests that the drawing shows the logical
// topology of the row's algorithm.
void AlgorithmPicker::point() {
  const AlgorithmRow* row = table_->pointed();
  detail_->setText(row ? detail_of(*row)
                       : tr("Point at an algorithm to see its senders and receivers on the canvas. "
                            "Click to choose it."));
  LogicalTopology wanted;
  if (row) wanted = known_->picture(row->offer.algorithm), wanted.pointed = true;
  else if (keep_->isChecked() && known_) wanted = known_->picture(asked_);
  if (wanted.flows.empty() || isHidden()) wanted = {};
  if (wanted == wanted_) return;
  wanted_ = wanted;
  emit picture_requested(wanted);
}

QString AlgorithmPicker::detail_of(const AlgorithmRow& row) const {
  QString text = help_of(row.offer);
  const auto flows = known_->flows.find(row.offer.algorithm);
  if (!row.fits()) return text;
  if (flows == known_->flows.end()) return text + " " + tr("Too many arrows to draw.");
  const auto widest = std::ranges::max_element(flows->second, {}, &collective::Flow::bytes);
  return text + " " +
         tr("%n arrow(s) on the canvas, in the color of the sender; the widest carries %1.",
            nullptr, plural(static_cast<std::int64_t>(flows->second.size())))
             .arg(size_text(widest->bytes));
}

}  // namespace trainyard::ui

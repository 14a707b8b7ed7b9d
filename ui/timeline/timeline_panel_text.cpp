// SPDX-License-Identifier: GPL-3.0-or-later
// Texts of the timeline panel.
#include <QAction>

#include "ui/model/text/count_text.h"
#include "ui/theme/tinted_label.h"
#include "ui/timeline/timeline_legend.h"
#include "ui/timeline/timeline_panel.h"

namespace trainyard::ui {
namespace {

const QString kBullet = QStringLiteral("● ");

}  // namespace

void TimelinePanel::set_badges(const QStringList& caveats) {
  if (caveats == caveats_) return;
  caveats_ = caveats;
  show_badges();
}

void TimelinePanel::set_frozen(bool frozen) {
  view_->set_frozen(frozen);
  pipeline_->set_frozen(frozen);
  show_badges();
}

QStringList TimelinePanel::badges() const {
  if (!run_ || !run_->spans().extent()) return {};
  QStringList badges;
  if (view_->frozen()) badges << tr("frozen");
  if (!shows_pipeline() && view_->merged()) badges << tr("short ops are merged: zoom in");
  if (const std::uint64_t lacking = run_->spans().lacking(); lacking > 0)
    badges << tr("the first %1 ops are not in memory")
                  .arg(grouped(static_cast<std::int64_t>(lacking)));
  return badges + caveats_;
}

QString TimelinePanel::following_text() const {
  if (!run_ || !run_->live() || !run_->spans().extent()) return {};
  if (view_->frozen()) return {};
  if (shows_pipeline() && view_->chosen_step())
    return tr("not following: step %1").arg(grouped(*view_->chosen_step()));
  if (view_->following()) return tr("following live");
  const Nanoseconds behind = run_->spans().extent()->end - view_->view().end;
  return behind > 0
             ? tr("not following: %1 s behind").arg(static_cast<double>(behind) * 1e-9, 0, 'f', 1)
             : tr("not following");
}

void TimelinePanel::show_badges() {
  const QStringList shown = badges();
  badge_line_->setText(shown.isEmpty() ? QString() : kBullet + shown.join("  " + kBullet));
  following_->setText(following_text());
  follow_->setEnabled(run_ && run_->live());
  following_->set_tint(view_->following() && !(shows_pipeline() && view_->chosen_step())
                           ? TextColor::ok
                           : TextColor::warning);
}

QString TimelinePanel::formulas() {
  return tr(
      "<p><b>Efficiency</b> of a rank: time in ops of the compute lane / time in view, within "
      "steps. Time between steps (pace, pause, evaluation) is excluded. The mean over n ranks "
      "equals the scaling efficiency T1 / (n Tn) if one device needs exactly the total compute of "
      "all ranks for a step. The delay of a slowed or paced rank counts as compute, as on a slower "
      "device.</p><p><b>Overlapped</b>: communication is the time in which a send or a receive was "
      "in progress, from posted to done. The overlapped share is the part in which the rank also "
      "computed.</p><p><b>Waiting</b>: a receive was posted and no matching data had "
      "arrived.</p><p><b>Buckets</b>: the collective of each bucket as one span, from the first "
      "begin to the last end of its ops. Waiting: a receive was posted and no op moved or reduced "
      "bytes. Sending: only sends were not consumed yet.</p><p><b>As drawn</b>: T1 / (n Tn) from "
      "the simulator: T1 is the step time of one drawn device with the same global batch, Tn that "
      "of the plan.</p>");
}

QString TimelinePanel::figures() const {
  QStringList lines{efficiency_->text(), communication_->text()};
  lines.removeAll(QString());
  return lines.join("\n");
}
QString TimelinePanel::selected_text() const { return selected_->text(); }

void TimelinePanel::show_selected() {
  const auto place = view_->selected();
  const bool op = !shows_pipeline() && run_ && place && span_at(run_->spans(), *place);
  const bool known = op || (shows_pipeline() && pipeline_view_->selected());
  selected_->setVisible(known);
  legend_->setVisible(!known);
  selected_->setText(op      ? span_text(run_->spans(), run_->history(), *place).sentence()
                     : known ? pipeline_view_->selection_text().sentence()
                             : QString());
  plan_action_->setEnabled(known);
}

void TimelinePanel::emit_selected(bool raise) {
  if (shows_pipeline()) return tell_cell(raise);
  const auto place = view_->selected();
  const OpSpan* span = run_ && place ? span_at(run_->spans(), *place) : nullptr;
  if (!span) return;
  const RankNames& names = run_->spans().names(place->rank);
  if (!names.find(span->program, span->op)) return;
  emit op_selected(place->rank, QString::fromStdString(names.programs[span->program].name),
                   title_of(names, place->lane, *span), raise);
}

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_state_bar.h"

#include <QHBoxLayout>
#include <QProgressBar>
#include <algorithm>
#include <cmath>

#include "core/base/fields.h"
#include "core/base/units.h"
#include "core/session/protocol/status.h"
#include "core/telemetry/summary.h"
#include "ui/model/text/count_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using session::RunState;

constexpr double kEtaWindowSeconds = 5;
// Minimum widths of the run's name, in characters: the first if the other items of the line fit
// beside it, the second otherwise.
constexpr int kNameCharacters = 12, kFewCharacters = 6;
// normal and short width of the progress bar, in pixels
constexpr int kProgress = 15 * kGrid, kShortProgress = 5 * kGrid;
const QString kApart = QStringLiteral("   "), kNarrowSeparator = QStringLiteral("  ");

QString word(RunState state) {
  QString text = QString::fromStdString(std::string(base::name_of(state)));
  text[0] = text[0].toUpper();
  return text;
}

TextColor tint_of(RunState state) {
  return state == RunState::failed     ? TextColor::error
         : state == RunState::finished ? TextColor::ok
                                       : TextColor::text;
}

// Returns the last loss and accuracy, over all ranks, as text.
QStringList figures_of(const telemetry::History& history) {
  QStringList figures;
  if (!history.train_loss().empty())
    figures << RunStateBar::tr("loss %1").arg(history.train_loss().back().value, 0, 'f', 4);
  if (!history.held_out_accuracy().empty())
    figures << RunStateBar::tr("held-out accuracy %1 %")
                   .arg(100 * history.held_out_accuracy().back().value, 0, 'f', 2);
  return figures;
}

// Returns a duration as short text, for example "40 s", "2 min" or "3 h".
QString short_duration(double seconds) {
  if (seconds < 59.5) return RunStateBar::tr("%1 s").arg(std::max(1.0, std::round(seconds)));
  return seconds < 3570 ? RunStateBar::tr("%1 min").arg(std::round(seconds / 60))
                        : RunStateBar::tr("%1 h").arg(std::round(seconds / 3600));
}

QString seconds_of(const telemetry::RecordedResult& result) {
  return QString::fromStdString(base::format_seconds(result.wall_seconds));
}

// Returns the number of training steps in the resolved experiment; 0 if unknown.
std::int64_t planned_steps(const telemetry::History& history) {
  const auto steps = base::value_at(history.header(), "experiment.document.training.steps");
  return steps && steps->is_number_integer() ? steps->get<std::int64_t>() : 0;
}

}  // namespace

void TimeLeftEstimator::note(double seconds, std::int64_t step, double seconds_per_step) {
  if (seconds_per_step != pace_) clear();
  pace_ = seconds_per_step;
  notes_.emplace_back(seconds, step);
  while (notes_.size() > 2 && notes_[1].first < seconds - kEtaWindowSeconds) notes_.pop_front();
}

std::optional<double> TimeLeftEstimator::left(std::int64_t steps) const {
  if (notes_.empty()) return {};
  const auto made = static_cast<double>(notes_.back().second - notes_.front().second);
  if (made <= 0 && pace_ <= 0) return {};
  const double measured = made > 0 ? (notes_.back().first - notes_.front().first) / made : 0;
  return std::max(measured, pace_) * static_cast<double>(steps - notes_.back().second);
}

RunStateBar::RunStateBar(QWidget* parent)
    : QWidget(parent),
      name_(new TintedLabel(TextColor::text, this, 1, true)),
      state_label_(new TintedLabel(TextColor::text, this)),
      figures_label_(new TintedLabel(TextColor::dim, this)),
      progress_(new QProgressBar(this)) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(kGrid, kGrid / 2, kGrid, kGrid / 2);
  row->setSpacing(2 * kGrid);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(tr("Progress of the run"));
  progress_->setMaximumHeight(kGrid);
  progress_->setRange(0, 1000);
  for (TintedLabel* label : {name_, state_label_, figures_label_}) label->set_elided();
  row->addWidget(name_);
  row->addWidget(state_label_);
  row->addWidget(progress_);
  row->addStretch(1);
  row->addWidget(figures_label_);
  connect(&Theme::instance(), &Theme::changed, this, &RunStateBar::fit,
          Qt::QueuedConnection);  // queued, so that the labels get the new theme first
  clock_.start();
  hide();
}

void RunStateBar::set_run(Run* run) {
  if (run_) run_->disconnect(this);
  run_ = run;
  eta_.clear();
  setVisible(run != nullptr);
  if (!run) return;
  connect(run, &Run::updated, this, &RunStateBar::refresh);
  connect(run, &Run::ended, this, &RunStateBar::refresh);
  connect(run, &QObject::destroyed, this, [this] { hide(); });
  refresh();
}

void RunStateBar::refresh() {
  name_->setText(run_->name());
  figures_ = figures_of(run_->history());
  training_ = run_->live() && run_->status();
  if (training_) show_live(*run_->status());
  else show_old();
  fit();
}

void RunStateBar::show_live(const session::Status& status) {
  QStringList words{word(status.state)}, brief = words;
  if (status.state != RunState::starting) {
    // ranks execute steps independently, so their step counts differ
    const bool apart = telemetry::is_asynchronous_gossip(run_->history()) &&
                       session::furthest_step(status) > status.step;
    const QString step = grouped(status.step), furthest = grouped(session::furthest_step(status)),
                  steps = grouped(status.steps);
    words << (apart ? tr("%1 of %2 steps by the slowest rank, %3 by the fastest")
                          .arg(step, steps, furthest)
                    : tr("%1 of %2 steps").arg(step, steps));
    brief << (apart ? tr("%1–%2/%3").arg(step, furthest, steps) : tr("%1/%2").arg(step, steps));
  }
  if (status.state == RunState::running) {
    eta_.note(static_cast<double>(clock_.elapsed()) / 1000, status.step, status.seconds_per_step);
    if (const auto left = eta_.left(status.steps)) {
      words << tr("%1 left").arg(
          QString::fromStdString(base::format_seconds(std::max(1.0, std::round(*left)))));
      brief << tr("%1 left").arg(short_duration(*left));
    }
  } else {
    eta_.clear();
  }
  set_state(tint_of(status.state), words, brief, kApart);
  progress_->setValue(status.steps > 0 ? static_cast<int>(1000 * status.step / status.steps) : 0);
}

void RunStateBar::set_state(TextColor tint, const QStringList& words, const QStringList& brief,
                            const QString& separator) {
  state_label_->set_tint(tint);
  state_ = words;
  short_state_ = brief;
  separator_ = separator;
}

int RunStateBar::width_for(const QString& state, const QStringList& figures, int progress) const {
  const QMargins margins = layout()->contentsMargins();
  int room = margins.left() + margins.right();
  const auto add = [&](int width) { room += width > 0 ? width + layout()->spacing() : 0; };
  const auto advance = [](const QLabel* label, const QString& text) {
    return text.isEmpty() ? 0 : label->fontMetrics().horizontalAdvance(text) + 2;
  };
  add(advance(state_label_, state));
  add(advance(figures_label_, figures.join(kApart)));
  add(progress);
  return room;
}

// Removes items from the line, the least important ones first, until the others fit. The run's name
// gets the remaining width.
void RunStateBar::fit() {
  QStringList state = state_, figures = figures_;
  QString separator = separator_;
  int progress = training_ ? kProgress : 0;
  const int letter = name_->fontMetrics().averageCharWidth();
  int name = std::min(name_->sizeHint().width(), letter * kNameCharacters);
  const auto fits = [&] {
    return width_for(state.join(separator), figures, progress) + name <= width();
  };
  if (!fits()) progress = std::min(progress, kShortProgress);
  if (!fits()) progress = 0;
  if (!fits() && !short_state_.isEmpty()) state = short_state_, separator = kNarrowSeparator;
  while (!fits() && !figures.isEmpty()) figures.removeLast();
  if (!fits()) name = std::min(name, letter * kFewCharacters);
  while (!fits() && state.size() > 2) state.removeLast();
  if (!fits()) name = -layout()->spacing();  // a hidden name also needs no spacing before it
  if (!fits()) state = state.mid(0, 1);
  state_label_->setText(state.join(separator));
  figures_label_->setText(figures.join(kApart));
  figures_label_->setVisible(!figures.isEmpty());
  progress_->setVisible(progress > 0);
  progress_->setFixedWidth(std::max(1, progress));
  setToolTip(state == state_ && figures == figures_ ? QString()
                                                    : state_text() + "\n" + figures_.join("\n"));
  const int left = width() - width_for(state.join(separator), figures, progress);
  name_->setVisible(name > 0);
  name_->setMaximumWidth(std::max(1, left));
}

void RunStateBar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit();
}

void RunStateBar::show_old() {
  const auto& result = run_->history().recorded_result();
  if (!result) {
    const QString text = run_->live()       ? tr("Starting ...")
                         : run_->complete() ? tr("Ended without a result")
                                            : tr("Reading ...");
    return set_state(TextColor::dim, {text}, {}, kApart);
  }
  const std::int64_t first = result->first_step, steps = first + result->steps;
  const QString status =
      result->status.empty() ? QString("?") : QString::fromStdString(result->status);
  QString done =
      status == "stopped"
          ? tr("after %1 of %2 steps").arg(grouped(steps), grouped(planned_steps(run_->history())))
          : tr("after %n step(s)", nullptr, plural(steps));
  if (first > 0) done += " " + tr("(from step %1)").arg(grouped(first));
  const TextColor tint = status == "completed" ? TextColor::ok
                         : status == "failed"  ? TextColor::error
                                               : TextColor::text;
  set_state(tint, {status, done, tr("in %1").arg(seconds_of(*result))},
            {status, tr("%n step(s)", nullptr, plural(steps))}, " ");
}

}  // namespace trainyard::ui

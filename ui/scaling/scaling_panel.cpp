// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/scaling/scaling_panel.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QMessageBox>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QThreadPool>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/file.h"
#include "core/base/units.h"
#include "core/session/sweep/sweep_text.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/common_dialogs.h"
#include "ui/theme/side_column.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

double now_unix_seconds() {
  return static_cast<double>(QDateTime::currentMSecsSinceEpoch()) / 1000;
}

}  // namespace

ScalingPanel::ScalingPanel(Document& document, const Services& services, QWidget* parent)
    : QWidget(parent), document_(document), services_(services) {
  auto* row = new QVBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  auto* halves = new QSplitter(Qt::Horizontal, this);
  row->addWidget(halves);
  halves->addWidget(build_controls());
  halves->addWidget(build_views());
  halves->setChildrenCollapsible(false);
  halves->setStretchFactor(0, 0), halves->setStretchFactor(1, 1);
  halves->setSizes({1, 10'000});  // gives the controls their minimum width, and the views the rest
  connect(form_, &ScalingForm::changed, this, &ScalingPanel::show_form);
  connect(&follower_, &SweepFollower::changed, this, &ScalingPanel::show_sweep);
  connect(start_, &QPushButton::clicked, this, &ScalingPanel::start);
  connect(cancel_, &QPushButton::clicked, this, &ScalingPanel::cancel);
  connect(export_, &QPushButton::clicked, this, &ScalingPanel::ask_where_to_save);
  connect(list_, &QComboBox::activated, this, &ScalingPanel::choose_listed);
  connect(table_, &ScalingTable::open_requested, this, &ScalingPanel::open_requested);
  connect(&Theme::instance(), &Theme::changed, this, &ScalingPanel::show_sweep);
  show_form();
  show_sweep();
}

QWidget* ScalingPanel::build_controls() {
  auto* controls = new SideColumn(this);
  controls->column()->addWidget(form_ = new ScalingForm(document_, controls->inside()));
  QVBoxLayout* words = controls->add_indented();
  words->addWidget(hint_ = paragraph(TextColor::dim, controls->inside()));
  words->addWidget(start_ = new QPushButton(tr("S&tart sweep"), controls->inside()));
  start_->setAccessibleDescription(
      tr("Train on each rank count with each algorithm, one run after the other"));
  start_->setToolTip(start_->accessibleDescription());
  controls->column()->addStretch(1);
  controls->finish();
  return controls;
}

QWidget* ScalingPanel::build_views() {
  auto* views = new QWidget(this);
  auto* column = new QVBoxLayout(views);
  column->setContentsMargins(0, kGrid / 2, 0, 0);
  column->setSpacing(kGrid / 2);
  auto* line = new QHBoxLayout;
  line->addWidget(bar_ = new QProgressBar(views));
  line->addWidget(status_ = new TintedLabel(TextColor::text, views), 1);
  line->addWidget(cancel_ = new QPushButton(tr("&Cancel sweep"), views));
  line->addWidget(list_ = new QComboBox(views));
  line->addWidget(export_ = new QPushButton(tr("Export table…"), views));
  column->addLayout(line);
  bar_->setTextVisible(false);
  bar_->setMaximumWidth(Theme::instance().pixels(160));
  bar_->setAccessibleName(tr("Progress of the sweep"));
  status_->set_elided();
  status_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  status_->setAccessibleName(tr("State of the sweep"));
  list_->setAccessibleName(tr("Displayed sweep"));
  list_->setToolTip(tr("Sweeps are kept on disk; choose one to display it"));
  list_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  list_->setMinimumContentsLength(28);
  export_->setToolTip(
      tr("Export all values of the table as CSV; charts have their own export menu"));
  auto* parts = new QSplitter(Qt::Horizontal, views);
  parts->addWidget(charts_ = new ScalingCharts(parts));
  parts->addWidget(table_ = new ScalingTable(parts));
  parts->setChildrenCollapsible(false);
  parts->setStretchFactor(0, 3), parts->setStretchFactor(1, 2);
  parts->setSizes({6000, 4000});
  column->addWidget(parts, 1);
  column->addWidget(caveats_ = new TintedLabel(TextColor::warning, views));
  column->addWidget(notes_ = new TintedLabel(TextColor::dim, views));
  for (TintedLabel* label : {caveats_, notes_}) label->set_elided();
  caveats_->setAccessibleName(tr("Caveats of these results"));
  notes_->setAccessibleName(tr("Measurement method"));
  return views;
}

QString ScalingPanel::status() const { return status_->text(); }
QString ScalingPanel::caveats() const { return caveats_->text(); }
QString ScalingPanel::notes() const { return notes_->text(); }
QString ScalingPanel::hint() const { return hint_->text(); }

void ScalingPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  list_sweeps_later();
}

void ScalingPanel::set_training(const QString& run) {
  training_ = run;
  show_form();
}

void ScalingPanel::open_sweep(const QString& directory) {
  follower_.follow(QDir(directory).absolutePath());
  list_sweeps_later();
}

void ScalingPanel::start() {
  const auto request = form_->request();
  if (!request) return show_form();
  refused_ = false;  // the message referred to the previous request
  const auto started =
      follower_.start(services_, document_.experiment(), document_.directory(), *request);
  refused_ = !started;
  if (started) return;
  hint_->set_tint(TextColor::error);
  hint_->setText(as_text(base::to_string(started.error())));
}

// Shows which runs the Start button would execute, or why no sweep can start. The message of a
// failed start stays until the settings change.
void ScalingPanel::show_form() {
  const auto request = form_->request();
  const bool free = training_.isEmpty() && !sweeping(),
             drawn = !document_.experiment().topology.hosts.empty();
  start_->setEnabled(request.has_value() && free);
  refused_ = false;
  hint_->set_tint(request || !drawn ? TextColor::dim : TextColor::error);
  if (!drawn)
    return hint_->setText(
        tr("Draw devices to measure the same training on 1, 2, 4, ... of them here."));
  if (!request) return hint_->setText(as_text(base::to_string(request.error())));
  if (!training_.isEmpty())
    return hint_->setText(
        tr("%1 is training. A sweep would share its CPU cores: stop the run or wait until it ends.")
            .arg(training_));
  if (sweeping())
    return hint_->setText(tr("Only one sweep at a time: concurrent sweeps would share CPU cores."));
  hint_->setText(tr("%1 of %2, one after the other.")
                     .arg(tr("%n run(s)", nullptr, plural(form_->runs())),
                          tr("%n step(s)", nullptr, plural(request->steps))));
}

void ScalingPanel::show_sweep() {
  const session::Sweep* sweep = follower_.sweep() ? &*follower_.sweep() : nullptr;
  charts_->set_empty_text(empty_text());
  charts_->show_sweep(sweep);
  table_->show_sweep(sweep, follower_.directory());
  status_->setText(status_text());
  const bool bad = !follower_.error_text().isEmpty() || follower_.ended_early() ||
                   (sweep && sweep->state == session::SweepState::failed);
  status_->set_tint(bad ? TextColor::error : TextColor::text);
  const auto so_far =
      sweep ? session::progress(*sweep, now_unix_seconds()) : session::SweepProgress();
  bar_->setVisible(sweeping());
  bar_->setRange(0, static_cast<int>(so_far.runs));
  bar_->setValue(static_cast<int>(so_far.over));
  cancel_->setVisible(sweeping());
  cancel_->setText(follower_.canceling() ? tr("&Cancel immediately") : tr("&Cancel sweep"));
  export_->setEnabled(sweep != nullptr);
  list_->setEnabled(!listed_.empty() && !sweeping());
  show_notes(sweep);
  if (std::exchange(was_sweeping_, sweeping()) == sweeping()) return;
  if (!refused_) show_form();
  list_sweeps_later();
  emit sweeping_changed();
}

void ScalingPanel::show_notes(const session::Sweep* sweep) {
  QStringList caveats, notes;
  if (sweep) {
    for (const std::string& caveat : session::caveats(*sweep)) caveats << as_text(caveat);
    for (const std::string& note : {session::baseline_text(*sweep), session::scaling_text(*sweep),
                                    session::measurement_text(*sweep)})
      if (!note.empty()) notes << as_text(note);
  }
  for (const auto& [label, words] : {std::pair{caveats_, caveats}, std::pair{notes_, notes}}) {
    label->setText(words.join(" · "));
    label->setVisible(!words.isEmpty());
  }
}

QString ScalingPanel::empty_text() const {
  if (!follower_.error_text().isEmpty()) return follower_.error_text();
  if (sweeping()) return tr("Results appear after the first run ends");
  if (follower_.sweep()) return tr("No run of this sweep finished");
  return tr("No sweep yet: choose ranks and algorithms, then press Start sweep");
}

QString ScalingPanel::status_text() const {
  if (!follower_.error_text().isEmpty()) return follower_.error_text();
  if (!follower_.sweep()) return sweeping() ? tr("Starting ...") : tr("No sweep selected");
  const session::Sweep& sweep = *follower_.sweep();
  const session::SweepProgress so_far = session::progress(sweep, now_unix_seconds());
  const QString over =
      tr("%1 of %n run(s) finished", nullptr, plural(so_far.runs)).arg(grouped(so_far.over));
  if (follower_.ended_early())
    return tr("The sweep process ended unexpectedly; it may have been killed. %1; finished runs "
              "are kept")
        .arg(over);
  if (!sweeping())
    return tr("%1 sweep %2")
        .arg(sweep.scaling == experiment::Scaling::weak ? tr("Weak-scaling") : tr("Strong-scaling"),
             as_text(std::string(base::name_of(sweep.state))));
  if (follower_.canceling()) return tr("Canceling: the current run stops cleanly; %1").arg(over);
  QString note = over;
  if (so_far.running)
    note =
        tr("%1: %2").arg(over, as_text(experiment::describe(sweep.variants[*so_far.running].wanted(
                                   sweep.scaling, sweep.steps))));
  return so_far.seconds_left ? tr("%1; about %2 left")
                                   .arg(note, as_text(base::format_seconds(
                                                  std::max(1.0, std::round(*so_far.seconds_left)))))
                             : note;
}

// Lists sweeps on a pool thread. If this is called while sweeps are being listed, they are listed
// once more afterwards.
void ScalingPanel::list_sweeps_later() {
  list_again_ = listing_;
  if (std::exchange(listing_, true)) return;
  QThreadPool::globalInstance()->start(
      [panel = QPointer<ScalingPanel>(this), sweeps = sweeps_directory(services_)] {
        auto entries = std::make_shared<std::vector<SweepEntry>>(list_sweeps(sweeps));
        QMetaObject::invokeMethod(QCoreApplication::instance(), [panel, entries] {
          if (!panel) return;
          panel->listing_ = false;
          panel->show_list(*entries);
          if (panel->list_again_) panel->list_sweeps_later();
        });
      });
}

void ScalingPanel::show_list(const std::vector<SweepEntry>& entries) {
  if (follower_.directory().isEmpty()) {
    const auto live = std::ranges::find_if(entries, &SweepEntry::live);
    if (live != entries.end()) follower_.follow(live->directory);
  }
  listed_ = entries;
  list_->clear();
  const QString shown = follower_.directory();
  list_->addItem(!entries.empty()  ? tr("Choose a sweep …")
                 : shown.isEmpty() ? tr("No saved sweeps")
                                   : QDir(shown).dirName());
  for (const SweepEntry& entry : entries) {
    list_->addItem(entry.title);
    list_->setItemData(list_->count() - 1, entry.directory, Qt::ToolTipRole);
    if (entry.directory == follower_.directory()) list_->setCurrentIndex(list_->count() - 1);
  }
  list_->view()->setMinimumWidth(list_->view()->sizeHintForColumn(0) +
                                 2 * kGrid);  // shows the selected entry in full
  list_->setEnabled(!entries.empty() && !sweeping());
}

void ScalingPanel::choose_listed(int row) {
  if (row >= 1 && row <= static_cast<int>(listed_.size()))
    follower_.follow(listed_[static_cast<std::size_t>(row) - 1].directory);
}

base::Result<void> ScalingPanel::save_table(const QString& file) const {
  if (!follower_.sweep()) return {};
  return base::write_file_atomically(file.toStdString(), session::to_csv(*follower_.sweep()));
}

void ScalingPanel::ask_where_to_save() {
  const QString file =
      ui::ask_where_to_save(this, tr("Export table"), "scaling.csv", "CSV (*.csv)", "csv");
  if (file.isEmpty()) return;
  if (const auto saved = save_table(file); !saved)
    QMessageBox::warning(this, tr("Export table"), as_text(base::to_string(saved.error())));
}

}  // namespace trainyard::ui

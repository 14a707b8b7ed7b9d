// SPDX-License-Identifier: GPL-3.0-or-later
// Panel that steps through a collective. It contains the choice of an exercise, the values of every
// rank, the program of the selected rank, and buttons. Keys: Left and Right go to the previous or
// next step, Page Up and Page Down to the previous or next round, Home and End to the first or last
// step. Space plays, Esc stops. Up and Down select a rank, Ctrl+Left and Ctrl+Right a chunk.
#pragma once

#include <QPointer>
#include <QTimer>
#include <QWidget>
#include <optional>

#include "ui/model/runs/run.h"
#include "ui/stepper/exercise_bar.h"
#include "ui/stepper/program_view.h"
#include "ui/stepper/step_table.h"
#include "ui/stepper/transit_mapper.h"

class QAction;
class QDoubleSpinBox;
class QKeyEvent;

namespace trainyard::ui {

class TintedLabel;

class StepperPanel : public QWidget {
  Q_OBJECT
 public:
  explicit StepperPanel(Document& document, QWidget* parent = nullptr);

  void set_run(Run* run);  // the displayed run, whose ranks and buckets can be chosen
  // Sets whether the user can see the panel. A hidden panel does not play and shows nothing on the
  // canvas.
  void set_in_front(bool seen);
  void leave_canvas();  // stops playing and clears the canvas until the next step

  bool playing() const { return clock_.isActive(); }
  Stepper& stepper() { return stepper_; }
  ExerciseBar& bar() { return *bar_; }
  StepTable& table() { return *table_; }
  ProgramView& program() { return *program_; }
  QString sentence() const;
  QString place() const;
  QString foot() const;  // compares the bytes to the formula, and names the origin of the values

 signals:
  // reports the transfer to show on the canvas; nullopt: no transfer
  void transit_changed(const std::optional<Transit>& transit);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* build_controls();
  QWidget* build_views();
  QWidget* build_transport();
  QAction* add_action(const QString& text, const QString& tip, const std::function<void()>& act);
  bool press(const QKeyEvent& key, bool on_button);
  void play();
  void stop();
  void play_next();
  void set_pace(double seconds);
  void load_run();
  void show_step();
  void show_program(int rank);
  void follow_program();
  void show_transit();
  const topology::Topology* drawing() const;

  Document& document_;
  Stepper stepper_;
  TransitMapper transit_of_;
  QTimer clock_;
  QPointer<Run> run_;
  bool run_requested_ = false, seen_ = false, on_canvas_ = false;
  ExerciseBar* bar_;
  StepTable* table_;
  ProgramView* program_;
  QAction *first_, *round_back_, *back_, *play_, *step_, *round_, *last_;
  QDoubleSpinBox* pace_;
  TintedLabel *place_, *sentence_, *footer_, *program_title_;
};

}  // namespace trainyard::ui

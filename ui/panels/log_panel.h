// SPDX-License-Identifier: GPL-3.0-or-later
// Panel with the log of a run, filtered by rank, level and text. It shows the newest lines until
// the user scrolls up. If the filter names one rank, it also shows other output of the rank's
// process, or that there was none.
#pragma once

#include <QWidget>

#include "ui/panels/log_model.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QTableView;

namespace trainyard::ui {

class LogPanel : public QWidget {
  Q_OBJECT
 public:
  explicit LogPanel(QWidget* parent = nullptr);
  void set_run(Run* run);
  // shows lines of all levels of one rank; no value: of all ranks
  void show_lines_of(std::optional<int> rank);
  // Returns the text of the selected lines, or of all shown lines if no line is selected. If there
  // are too many lines to copy, returns only the newest ones and a note.
  static constexpr int kMaxCopied = 10'000, kMaxCopiedCharacters = 4'000'000;
  QString text() const;
  QString note() const;  // note shown beside the lines; "" if there is none
  QTableView& table() { return *table_; }

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void build_bar();
  void build_table();
  void offer_ranks();
  void filter();
  void show_note();
  QString printed(int rank) const;
  void follow();
  QList<int> chosen_rows() const;
  QString copied(int row) const;
  void copy() const;

  LogModel model_;
  Run* run_ = nullptr;
  int ranks_ = -1;
  QComboBox *rank_, *level_;
  QLineEdit* find_;
  QCheckBox* follow_;
  QTableView* table_;
  QLabel* note_;
};

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
// Log of a run, of all ranks together, filtered by rank, level and text. It follows the end until
// the user scrolls up. For a single rank it also shows what its process printed, or that it printed
// nothing.
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
  void show_lines_of(std::optional<int> rank);  // at all levels; nothing: of all ranks
  // Text of the selected lines, else of all shown lines; of very many only the newest, with a note.
  static constexpr int kMaxCopied = 10'000, kMaxCopiedCharacters = 4'000'000;
  QString text() const;
  QString note() const;  // beside the lines; "" if there is none
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

// SPDX-License-Identifier: GPL-3.0-or-later
// The log of the run, of all ranks in one, by rank, level and text. It follows the tail until one scrolls up. Of one rank it
// also shows what its process printed, or says that it printed nothing.
#pragma once

#include <QSortFilterProxyModel>
#include <QWidget>

#include "ui/panels/log_model.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QTableView;

namespace trainyard::ui {

class LogFilter : public QSortFilterProxyModel {
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  static constexpr int kEverybody = -2;
  void set(int rank, int least_level, const QString& text);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  int rank_ = kEverybody, least_level_ = 0;
  QString text_;
};

class LogPanel : public QWidget {
  Q_OBJECT
 public:
  explicit LogPanel(QWidget* parent = nullptr);
  void set_run(Run* run);
  void show_lines_of(std::optional<int> rank);  // all of them; nothing: of everybody
  QString text() const;                         // of the selected lines, else of all that are shown
  QString note() const;                         // beside the lines; "" when there is nothing to say
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
  void copy() const;

  LogModel model_;
  LogFilter filter_;
  Run* run_ = nullptr;
  int ranks_ = -1;
  QComboBox *rank_, *level_;
  QLineEdit* find_;
  QCheckBox* follow_;
  QTableView* table_;
  QLabel* note_;
};

}  // namespace trainyard::ui

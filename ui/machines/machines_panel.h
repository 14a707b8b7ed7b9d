// SPDX-License-Identifier: GPL-3.0-or-later
// Panel that checks the other machines of the drawing: one row for each host and check, with what
// was found and what to do.
#pragma once

#include <QWidget>

#include "ui/model/document/document.h"
#include "ui/model/machines/machine_check.h"

class QProgressBar;
class QPushButton;
class QTextEdit;
class QTreeWidget;
class QTreeWidgetItem;

namespace trainyard::ui {

class TintedLabel;

class MachinesPanel : public QWidget {
  Q_OBJECT
 public:
  MachinesPanel(Document& document, const Services& services, QWidget* parent = nullptr);

  void check();  // checks the machines of the current document, saved or not
  MachineCheck& current_check() { return check_; }
  QTreeWidget& table() { return *table_; }
  QPushButton& check_button() { return *start_; }
  QPushButton& add_button() { return *add_; }
  QPushButton& here_button() { return *here_; }
  QString status() const;
  QString empty_text() const;
  QString text() const;  // text of the selected rows, or of all if none is selected

 signals:
  void activated(const QString& path);  // field of the host of a row
  // Requests to add the machine with this address; empty: any machine.
  void machine_requested(const QString& address);
  void local_run_requested();  // requests to clear the addresses of all hosts and to start a run

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QWidget* build_controls();
  void build_table();
  void refresh();
  void show_status();
  void fill();
  void show_advice();
  void show_menu(const QPoint& at);
  void copy() const;
  const MachineCheckRow* row_of(const QTreeWidgetItem* item) const;
  std::optional<std::size_t> host_of_row(const MachineCheckRow& row) const;
  QString path_of(const MachineCheckRow& row) const;
  QString address_to_add() const;
  std::size_t failed() const;

  Document& document_;
  const Services& services_;
  MachineCheck check_;
  topology::Topology checked_;  // drawing that was checked
  QPushButton *start_, *cancel_, *add_, *here_;
  QProgressBar* bar_;
  TintedLabel *status_, *empty_;
  QTreeWidget* table_;
  QTextEdit* advice_;  // full text of the current row
};

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
// Commands on other machines: adds, draws, removes and checks them, and offers to run without them.
#pragma once

#include <QMainWindow>
#include <QPointer>

#include "ui/canvas/actions.h"
#include "ui/central_area.h"
#include "ui/dock_panels.h"
#include "ui/machines/add_machine_dialog.h"
#include "ui/manual/manual_help.h"
#include "ui/questions.h"

class QMenu;

namespace trainyard::ui {

class MachineCommands : public QObject {
  Q_OBJECT
 public:
  MachineCommands(QMainWindow& window, Document& document, const Services& services,
                  Workspace& workspace, CentralArea& center, CanvasActions& canvas,
                  DockPanels& panels, ManualHelp& manual, const Questions& questions);

  void fill_run_menu(QMenu& menu);
  // Opens the dialog that adds a machine. `address`: initial address.
  void add(const QString& address = {});
  void check();                                   // shows the panel and starts a check
  AddMachineDialog* dialog() { return dialog_; }  // null if it is not open
  // Offers to run on this machine if a document that was just opened uses machines that are not in
  // the list of machines.
  void document_opened();

 signals:
  void local_run_requested();  // requests to clear the addresses of all hosts and to start a run

 private:
  void draw(const session::Machine& machine);
  void remove(const QString& address);
  void remove_joined(const QString& address);
  QStringList unknown_machines() const;

  QMainWindow& window_;
  Document& document_;
  const Services& services_;
  Workspace& workspace_;
  CentralArea& center_;
  DockPanels& panels_;
  ManualHelp& manual_;
  const Questions& questions_;
  QAction* check_;
  QPointer<AddMachineDialog> dialog_;
  QString offered_;  // text of the banner that `document_opened` has shown
};

}  // namespace trainyard::ui

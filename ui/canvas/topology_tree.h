// SPDX-License-Identifier: GPL-3.0-or-later
// The drawing as a tree of names (with icons for the kind) and details. It shares the canvas's
// selection and serves screen readers. Columns share the available width: elided text ends in "…"
// and is complete in the tool tip.
#pragma once

#include <QTreeView>

#include "ui/model/document/topology_items.h"

namespace trainyard::ui {

class TopologyTree : public QTreeView {
  Q_OBJECT
 public:
  TopologyTree(Document& document, Selection& selection, QWidget* parent = nullptr);

 signals:
  void message(const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;  // handles the Delete key
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void fit_columns();
  void show_selection();
  void take_selection();

  Document& document_;
  Selection& selection_;
  TopologyItems items_;
  bool syncing_ = false;
};

}  // namespace trainyard::ui

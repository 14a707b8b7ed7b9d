// SPDX-License-Identifier: GPL-3.0-or-later
// Grid of chart cards. A row has as many cards as fit. Rows are high enough to fill the visible
// part of the scroll area. A card is moved by dragging its title or from its menu, which also hides
// it.
#pragma once

#include <QRubberBand>
#include <QStringList>
#include <QWidget>
#include <vector>

#include "ui/charts/plot_view.h"

namespace trainyard::ui {

class FlowLayout;

class ChartGrid : public QWidget {
  Q_OBJECT
 public:
  explicit ChartGrid(QWidget* parent = nullptr);

  PlotView* add(const QString& name);
  void move(const QString& name, int to);
  void set_shown(const QString& name, bool shown);
  bool shown(const QString& name) const;
  // Sets whether a chart has data to show. A chart without data is hidden, even if the user wants
  // it shown. The stored arrangement of the cards does not change.
  void set_present(const QString& name, bool there);
  bool there(const QString& name) const;
  // Names of the cards in order, with the prefix "-" if hidden; stored in the settings. Unknown
  // names are ignored.
  QStringList arrangement() const;
  void arrange(const QStringList& names);
  void set_page(int height);  // height of the visible page; 0: no scrolling

 signals:
  void arrangement_changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Card {
    QString name;
    PlotView* plot;
    bool shown = true, there = true;
    bool seen() const { return shown && there; }
  };
  int index_of(const QString& name) const;
  void move_by(const QString& name, int by);
  void fit();
  void drag_to(QPoint at);
  int index_at(QPoint at) const;
  QRubberBand target_;  // marks where the dragged card would be dropped
  QPoint pressed_;
  FlowLayout* layout_;
  std::vector<Card> cards_;
};

}  // namespace trainyard::ui
